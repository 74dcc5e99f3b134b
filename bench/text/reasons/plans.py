"""What can't be planned."""

PLANS = {
    "dtype": "number format",
    "thread_count": "number of threads",
    "layout": "memory layout",
    "calling": "way of calling",
    "choice_twice": "Choose each {name} once, and at least one.",
    "unknown_choice": "There is no {name} {wrong}; choose from {allowed}.",
    "number_of_threads": "The number of threads",
    "no_operation": "There is no operation {operation}; choose from {all}.",
    "no_model": "Choose at least one model.",
    "unknown_model": "There is no model {name}; choose from {all}.",
    "epochs": "Epochs",
    "images": "Images",
    "batch_twice": "Choose each batch size once, and at least one.",
    "batch_size": "The batch size",
    "too_few_images": (
        "A batch of {batch} needs at least as many images, and there are {images}: use more images or a smaller batch."
    ),
    "article_is_plain": "The article used float32, one batch size and no single images: choose the same.",
    "no_device": "Choose at least one device.",
    "device_twice": "Name each device once.",
    "fewer_or_more_images": "use {fewer} or {more} images",
    "batches_of_two": "use batches of at least 2",
    "last_batch_too_small": (
        "{images} images in batches of {batch} leave a last batch of {last}, on which {title} cannot train because "
        "batch normalisation needs at least {smallest}: {better}."
    ),
    "number_of_sizes": "The number of sizes",
    "sizes_rule": 'Sizes are whole numbers such as 128,256,512, or the word "article"',
    "batches_rule": "Batch sizes are whole numbers such as 1, 32, 128",
    "threads_rule": 'Numbers of threads are whole numbers such as 1, 4, 8, or "default"',
    "breaks_rule": "{rule}; {wrong} is not.",
    "no_size": "Choose at least one size.",
    "too_many_sizes": "{sizes} sizes are too many for one run: choose at most {most}.",
    "a_size": "A size",
    "sizes_descend": "Sizes must ascend, each once, and {after} comes after {before}: put them in order.",
    "minutes_out_of_range": "The minutes must be from 0.1 to 60, and {minutes} are not.",
    "device_gone": "Device {device} can't be used now, so the run can't be gone on with.",
    "nothing_left": "Nothing of this run is left to measure.",
    "kind_not_resumable": "This kind of run can't be gone on with; start it again.",
    "images_from_folder": "Its images came from a folder, which is not kept with a run; start it again.",
    "settings_no_plan": "The settings kept with this run don't make a plan; start it again.",
    "out_of_range": "{what} must be from {low:plain} to {high:plain}, and {value} is not.",
}
