/** Whether If-None-Match contains one of these tags, given without quotes, by weak comparison (RFC 9110, 13.1.2). */
export function namesTag(condition: string, tags: string[]): boolean {
  return condition.split(',').some((part) => {
    const tag = part.trim().replace(/^W\//, '')
    return tag === '*' || tags.some((known) => tag === `"${known}"`)
  })
}
