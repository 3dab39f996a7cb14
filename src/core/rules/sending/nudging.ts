/** The times of repeated pushes, in seconds after the first push of a version, until a phone fetches the version. */
const NUDGE_SECONDS = [600, 3600, 86_400] as const

/** The minimum time between two pushes to a phone, in seconds, no matter how often clients request a nudge. */
export const NUDGE_SPACING_SECONDS = 600

/** Returns the time of the next push after `now`. Skips missed pushes. Returns `undefined` after the last push. */
export function nextNudge(firstPushedAt: Date, now: Date): Date | undefined {
  const moments = NUDGE_SECONDS.map((seconds) => new Date(firstPushedAt.getTime() + seconds * 1000))
  return moments.find((moment) => moment > now)
}
