"""Benchmarking PyTorch on CPU, Apple MPS and other accelerators.

Layers; a module imports only from the rows above its own::

    words
    home  stats  units  timing  registry  apple  mirrors
    database  data  datasets  presets  modules  ops  models  cases  compiling  environment  gate  fit
    plans  results  devices  energy
    estimate  trainer  runner  runfile  guards  analysis  memory
    export  recorded
    store  compare  verify  sampler  watch  attempts  disturbance
    verify_networks  sweep  download  verdict  doubts
    contest  training_verdict
    training  replay
    resume
    conclusions  doctor  checkup  fresh
    recorder
    terminal
    options
    __main__  ui        ui is the only package that imports streamlit or plotly

Nothing here imports torch when it is imported, except ``devices`` and ``modules``: the page paints before
torch is there, and only the runner's thread brings it in.
"""
