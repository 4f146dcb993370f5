return {v = ..., n = select('#', ...)}
