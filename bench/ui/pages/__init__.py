"""One module a page; each reads like a description of what the person sees."""
