/** lastUpdated must be a string: a number stops the updates of a phone. It is opaque to phones and only ever grows. */
export function walletTag(tag: number): string {
  return `v${tag}`
}

/** Null where the phone names none. A tag that is not ours is older than every change. */
export function parseTag(text: string | null): number | null {
  if (text === null) return null
  const digits = /^v(\d{1,15})$/.exec(text)?.[1]
  return digits === undefined ? 0 : Number(digits)
}
