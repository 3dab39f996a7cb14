/** lastUpdated must be a string: a number stops the updates of a phone. It is opaque to phones and only ever grows. */
export function walletTag(tag: number): string {
  return `v${tag}`
}

/** A tag that is not ours counts as none: the phone is told of everything. */
export function parseTag(text: string | null): number {
  const digits = /^v(\d{1,15})$/.exec(text ?? '')?.[1]
  return digits === undefined ? 0 : Number(digits)
}
