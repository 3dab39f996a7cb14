/** The type that the first bytes of a file say, whatever its sender called it. */
export function imageTypeOf(bytes: Uint8Array): 'image/png' | 'image/jpeg' | undefined {
  const starts = (...signature: number[]) => signature.every((byte, index) => bytes[index] === byte)
  if (starts(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)) return 'image/png'
  return starts(0xff, 0xd8, 0xff) ? 'image/jpeg' : undefined
}
