"""What a piece of code says by the way it is written: one idiom of training code per module, by syntax alone."""
