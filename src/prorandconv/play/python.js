// Python code that makes the same picture with the library.
"use strict"

const LONGEST_TEXT = 200_000 // a longer draw is loaded from its file

// Arguments of the constructor that are not its defaults.
function argumentsOf(pro, settings, {contrast, padding, bound, output, mean, std}) {
	const quoted = value => (value === null ? "None" : JSON.stringify(value))
	const range = (used, high) => (used ? `(0.01, ${high})` : "None")
	const all = contrast.length === PARTS.length
	const bare = !contrast.includes("standardise") && !contrast.includes("tanh")
	const implied = contrast.includes("tanh") && [mean, std].some(values => quoted(values) !== "[0.5]")
	const auto = settings.b_delta === null && settings.offsets
	const given = {
		...(pro
			? {kernel_size: settings.k, weights: quoted(settings.weights)}
			: {kernel_sizes: `[${settings.k}]`, identity: "0.0"}),
		smoothing: range(settings.smoothing, settings.sigma_g),
		offsets: auto ? '"auto"' : range(settings.offsets, settings.b_delta),
		alpha: settings.alpha,
		gamma_std: settings.sigma_gamma,
		beta_std: settings.sigma_beta,
		contrast: all ? "True" : contrast.length ? quoted(contrast) : "False",
		weight_std: range(settings.b_w, settings.b_w),
		padding: quoted(padding),
		...(pro && {bound: quoted(bound), output: quoted(output)}),
		...(pro && {mean: quoted(mean), std: quoted(std)})
	}
	const usual = {
		...{kernel_size: 3, weights: '"same"', alpha: 10, gamma_std: 0.5, beta_std: 0.5},
		...(pro
			? {smoothing: "(0.01, 1)", offsets: '"auto"', contrast: "True"}
			: {smoothing: "None", offsets: "None", contrast: "False"}),
		...{weight_std: "None", padding: '"zeros"', bound: bare ? '"clamp"' : "None"},
		...{output: implied ? '"pixels"' : '"tanh"', mean: "[0.5]", std: "[0.5]"}
	}
	const own = Object.entries(given).filter(([name, value]) => value !== usual[name])
	return own.map(pair => pair.join("=")).join(", ")
}

// The code: `names` are those of the original (PNG), the draw file and the result.
function pythonCode(settings, text, names) {
	const {transform, options, repeats} = JSON.parse(text)
	const column = values => `torch.tensor(${JSON.stringify(values)}).view(-1, 1, 1)`
	const fromTanh = options.contrast.includes("tanh") && options.output === "tanh"
	const read = text.length > LONGEST_TEXT ? `load("${names.draw}")` : `from_json(r'''${text}''')`
	return `import torch
from PIL import Image
from torchvision.transforms.v2 import functional as F

import prorandconv as prc

augment = prc.${transform}(${argumentsOf(transform === "ProRandConv", settings, options)})

# one draw, with L = ${repeats}
draw = prc.Draw.${read}

# "Save original" in the playground writes this file.
image = Image.open("${names.original}").convert("RGB")
mean, std = ${column(options.mean)}, ${column(options.std)}
x = (F.pil_to_tensor(image) / 255 - mean) / std

y = augment(x, draw=draw)
pixels = ${fromTanh ? "(y + 1) / 2" : "y * std + mean"}
F.to_pil_image((pixels * 255).round().clamp(0, 255).to(torch.uint8)).save("${names.result}")
`
}
