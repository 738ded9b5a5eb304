from .helpers import reduce_mean as reduce_mean
