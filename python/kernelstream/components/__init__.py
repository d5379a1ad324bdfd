"""What a model is made of: kernels, bases, learners, learners on a budget, admission rules."""
