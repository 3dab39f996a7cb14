/** A phone that stays silent is pushed again so many seconds after it was first pushed for a version, and never more for that one. */
const NUDGE_SECONDS = [600, 3600, 86_400] as const

/** No phone is pushed again within so many seconds of its last push, however often that is asked for. */
export const NUDGE_SPACING_SECONDS = 600

/** The next moment for it; what passed while nobody looked is left out. Undefined where there is none left. */
export function nextNudge(firstPushedAt: Date, now: Date): Date | undefined {
  const moments = NUDGE_SECONDS.map((seconds) => new Date(firstPushedAt.getTime() + seconds * 1000))
  return moments.find((moment) => moment > now)
}
