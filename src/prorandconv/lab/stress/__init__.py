"""How robust a model is: any classifier, on images of the user's own."""
