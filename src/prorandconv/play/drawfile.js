// The draw file: JSON that this page shares with Python's Draw.save and load.

function defineDrawFile() {
	"use strict"
	const [FORMAT, VERSION] = ["prorandconv.draw", 1]

	class DrawFileError extends Error {}

	function must(holds, problem) {
		if (!holds) throw new DrawFileError(problem)
	}

	const count = shape => shape.reduce((a, b) => a * b, 1)

	function encode(tensor) {
		if (!tensor) return null
		const view = new DataView(new ArrayBuffer(4 * tensor.data.length))
		tensor.data.forEach((value, i) => view.setFloat32(4 * i, value, true))
		let text = ""
		for (const byte of new Uint8Array(view.buffer)) text += String.fromCharCode(byte)
		return {dtype: "float32", shape: tensor.shape, data: btoa(text)}
	}

	function decode(given) {
		if (!given) return null
		const {shape, dtype} = given
		must(dtype === "float32", `it holds ${dtype}, not float32`)
		const bytes = Uint8Array.from(atob(given.data), letter => letter.charCodeAt(0))
		const view = new DataView(bytes.buffer)
		const data = Float64Array.from({length: count(shape)}, (_, i) => view.getFloat32(4 * i, true))
		must(data.every(Number.isFinite), "it holds numbers that are not finite")
		return {shape, data}
	}

	function write({transform, options, size, repeats, layered, offsets, ...tensors}) {
		const [weight, gamma, beta, mix] = ["weight", "gamma", "beta", "mix"].map(n =>
			encode(tensors[n])
		)
		const waves = offsets && {...offsets, coefficients: encode(offsets.coefficients)}
		return JSON.stringify({
			...{format: FORMAT, version: VERSION, transform, options, size, repeats, layered},
			...{chosen: null, batch: null, weight, gamma, beta, mix, offsets: waves}
		})
	}

	// The draw in a file's text; of a file with one draw per image, the first image's.
	function read(text) {
		try {
			return drawOf(JSON.parse(text))
		} catch (error) {
			if (error instanceof DrawFileError) throw error
			throw new DrawFileError("it is not a whole draw file")
		}
	}

	function drawOf({format, version, transform, options, size, layered, repeats, ...stored}) {
		must(format === FORMAT, `its format is not “${FORMAT}”`)
		must(version === VERSION, `its version is ${version}, and this page reads ${VERSION}`)
		const several = Array.isArray(repeats)
		const tensor = given => {
			const all = decode(given)
			if (!several || !all) return all
			const shape = all.shape.slice(1)
			return {shape, data: all.data.subarray(0, count(shape))}
		}
		const [weight, gamma, beta, mix] = ["weight", "gamma", "beta", "mix"].map(n =>
			tensor(stored[n])
		)
		const times = several ? repeats[0] : repeats
		const [out, channels, rows, k] = weight.shape.slice(-4)
		const {contrast, mean, std, padding} = options
		must([contrast, mean, std].every(Array.isArray) && padding, "an option is missing")
		must(out === 3 && channels === 3, `it is for ${channels} channel(s), and pictures have 3`)
		must(rows === k && k % 2, `its kernel is ${rows} × ${k}`)
		must(times > 0, "it leaves pictures as they are")
		must(!layered || times <= weight.shape[0], "it has fewer kernels than repetitions")
		must(!gamma === !beta, "it has only one of gamma and beta")
		must(Math.max(...size) <= 1024, `its size is ${size.join(" × ")}`)
		const offsets = stored.offsets && wavesOf(stored.offsets, size, k, tensor)
		const tensors = {weight, gamma, beta, mix, offsets}
		return {transform, options, size, layered, repeats: times, ...tensors, drawn: {}}
	}

	function wavesOf({kind, side, coefficients}, size, k, tensor) {
		const stored = tensor(coefficients)
		must(kind === "waves", `its offsets are ${kind}`)
		must(stored.shape[0] === 2 * k * k && side === Math.max(...size), "its offsets do not fit")
		return {kind, side, coefficients: stored}
	}

	return {read, write, DrawFileError}
}
