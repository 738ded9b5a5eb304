"""What the shape of a piece of code shows: one idiom of training code per module, by syntax alone."""
