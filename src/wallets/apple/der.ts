/** DER, as far as signing a pass needs it. It reads only certificates that OpenSSL has already accepted. */

/** One element: tag, length, contents. */
export function element(tag: number, ...contents: Uint8Array[]): Buffer {
  const length = contents.reduce((sum, part) => sum + part.length, 0)
  return Buffer.concat([header(tag, length), ...contents])
}

export function sequence(...members: Uint8Array[]): Buffer {
  return element(0x30, ...members)
}

/** DER orders the members of a SET OF by their encoding. */
export function sorted(members: Buffer[]): Buffer[] {
  return members.toSorted(Buffer.compare)
}

export function setOf(...members: Buffer[]): Buffer {
  return element(0x31, ...sorted(members))
}

export function octetString(bytes: Uint8Array): Buffer {
  return element(0x04, bytes)
}

export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...arcs] = dotted.split('.').map(Number)
  return element(0x06, Buffer.from([first * 40 + second, ...arcs.flatMap(base128)]))
}

/** A moment to the second: UTCTime from 1950 to 2049, GeneralizedTime outside (RFC 5652, 11.3). */
export function time(at: Date): Buffer {
  const digits = at.toISOString().replaceAll(/\D/g, '').slice(0, 14)
  const year = at.getUTCFullYear()
  return year >= 1950 && year < 2050
    ? element(0x17, Buffer.from(`${digits.slice(2)}Z`))
    : element(0x18, Buffer.from(`${digits}Z`))
}

/** The elements inside a constructed one, each with its tag and length. */
export function membersOf(constructed: Uint8Array): Buffer[] {
  const bytes = Buffer.from(constructed.buffer, constructed.byteOffset, constructed.length)
  const members: Buffer[] = []
  let position = contentsOf(bytes, 0).start
  while (position < bytes.length) {
    const { end } = contentsOf(bytes, position)
    members.push(bytes.subarray(position, end))
    position = end
  }
  return members
}

function header(tag: number, length: number): Buffer {
  if (length < 0x80) return Buffer.from([tag, length])
  if (length < 0x100) return Buffer.from([tag, 0x81, length])
  if (length < 0x10000) return Buffer.from([tag, 0x82, length >> 8, length & 0xff])
  throw new RangeError('A DER element of 64 KiB or more does not belong into a signature.')
}

function base128(arc: number): number[] {
  const bytes = [arc % 128]
  for (let rest = Math.floor(arc / 128); rest > 0; rest = Math.floor(rest / 128)) bytes.unshift(0x80 | (rest % 128))
  return bytes
}

function contentsOf(bytes: Buffer, position: number): { start: number; end: number } {
  const length = bytes.readUInt8(position + 1)
  if (length < 0x80) return { start: position + 2, end: position + 2 + length }
  const start = position + 2 + (length & 0x7f)
  return { start, end: start + bytes.readUIntBE(position + 2, length & 0x7f) }
}
