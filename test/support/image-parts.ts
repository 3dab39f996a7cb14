import { crc32, deflateSync } from 'node:zlib'

/** Builds valid and invalid PNG and JPEG files from their parts. */

export function png(...chunks: Buffer[]): Buffer {
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([signature, ...chunks, chunk('IEND')])
}

export function chunk(kind: string, data: Uint8Array = Buffer.alloc(0)): Buffer {
  const body = Buffer.concat([Buffer.from(kind), data])
  return Buffer.concat([uint32(data.length), body, uint32(crc32(body))])
}

/** Returns a PNG header; by default for 8 bits each of red, green, and blue, not interlaced. */
export function header(
  width: number,
  height: number,
  kind: [bits: number, color: number, interlaced: number] = [8, 2, 0],
) {
  const [bits, color, interlaced] = kind
  return chunk('IHDR', Buffer.concat([uint32(width), uint32(height), Buffer.from([bits, color, 0, 0, interlaced])]))
}

/** Returns the given number of zero bytes, compressed: a black image. */
export function pixels(bytes: number): Buffer {
  return chunk('IDAT', zeros(bytes))
}

/** Returns the given number of zero bytes, compressed to about a thousandth. */
export function zeros(bytes: number): Buffer {
  return deflateSync(Buffer.alloc(bytes), { level: 9 })
}

export function jpeg(...segments: Buffer[]): Buffer {
  return Buffer.concat([Buffer.from([0xff, 0xd8]), ...segments, Buffer.from([0xff, 0xd9])])
}

export function segment(marker: number, data: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([0xff, marker]), uint16(data.length + 2), data])
}

/** Returns the header of a frame with one color component. */
export function frame(marker: number, { width = 8, height = 8, bits = 8 } = {}): Buffer {
  return segment(
    marker,
    Buffer.concat([Buffer.from([bits]), uint16(height), uint16(width), Buffer.from([1, 1, 0x11, 0])]),
  )
}

/** A scan with some data, including a block with a length. */
export const scan = Buffer.concat([
  segment(0xda, Buffer.from([1, 1, 0, 0, 63, 0])),
  Buffer.from([0x12, 0xff, 0x00, 0x34, 0xff, 0xd0, 0x56]),
])

/**
 * Returns a progressive JPEG with repeated scans. Every part is valid, and each scan is a pass over all pixels. The source must
 * start with a scan of the luminance.
 */
export function withScans(progressive: Uint8Array, scans: number): Buffer {
  const bytes = Buffer.from(progressive)
  const found: { from: number; at: number; to: number }[] = []
  for (let at = 2, from = 2; bytes[at + 1] !== 0xd9; ) {
    let to = at + 2 + bytes.readUInt16BE(at + 2)
    if (bytes[at + 1] === 0xda) {
      while (bytes[to] !== 0xff || bytes[to + 1] === 0 || (bytes[to + 1]! & 0xf8) === 0xd0) to += 1
      found.push({ from, at, to })
      from = to
    }
    at = to
  }
  const [first, second] = found as [(typeof found)[0], (typeof found)[0]]
  // Set full precision for both scans, so that the repetitions are consistent.
  bytes[first.at + 1 + bytes.readUInt16BE(first.at + 2)] = 0
  bytes.set([1, 63, 0], second.at + 7)
  const repeated = bytes.subarray(second.at, second.to)
  const end = Buffer.from([0xff, 0xd9])
  return Buffer.concat([bytes.subarray(0, second.at), ...Array<Buffer>(scans - 1).fill(repeated), end])
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
