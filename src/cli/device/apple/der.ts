/** DER as a phone reads it from strangers: every length is checked before it is believed. */

export interface DerElement {
  tag: number
  /** With tag and length. */
  encoded: Buffer
  contents: Buffer
}

/**
 * The one element that the bytes are.
 * @throws RangeError where they are anything else
 */
export function readDer(bytes: Buffer): DerElement {
  const element = elementAt(bytes, 0)
  if (element.encoded.length !== bytes.length) throw new RangeError('Something follows the end of the DER.')
  return element
}

/** The elements inside a constructed one. */
export function childrenOf({ contents }: DerElement): DerElement[] {
  const children: DerElement[] = []
  for (let position = 0; position < contents.length; ) {
    const child = elementAt(contents, position)
    children.push(child)
    position += child.encoded.length
  }
  return children
}

/** An object identifier in dotted form. */
export function dottedOf({ tag, contents }: DerElement): string {
  if (tag !== 0x06 || contents.length === 0) throw new RangeError('An object identifier was expected.')
  const arcs: number[] = []
  let arc = 0
  for (const byte of contents) {
    arc = arc * 128 + (byte & 0x7f)
    if (byte < 0x80) {
      arcs.push(arc)
      arc = 0
    }
  }
  const [first = 0, ...others] = arcs
  const root = Math.min(Math.floor(first / 40), 2)
  return [root, first - root * 40, ...others].join('.')
}

function elementAt(bytes: Buffer, position: number): DerElement {
  const tag = bytes.readUInt8(position)
  if ((tag & 0x1f) === 0x1f) throw new RangeError('Tags of several bytes have no place here.')
  const short = bytes.readUInt8(position + 1)
  const lengthBytes = short < 0x80 ? 0 : short & 0x7f
  if (short === 0x80 || lengthBytes > 4) throw new RangeError('This is no DER length.')
  const start = position + 2 + lengthBytes
  const length = lengthBytes === 0 ? short : bytes.readUIntBE(position + 2, lengthBytes)
  if (start + length > bytes.length) throw new RangeError('The DER is cut off.')
  return { tag, encoded: bytes.subarray(position, start + length), contents: bytes.subarray(start, start + length) }
}
