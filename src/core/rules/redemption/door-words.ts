type OfPeriod = Record<'day' | 'week' | 'month', string>

/** What an operator at the door is told, in one language. What stands in braces is filled in. */
export interface DoorWords {
  noMatch: string
  staleCode: string
  revoked: string
  /** `{count}` of passes. */
  severalMatches: string
  /** `{project}` by its name. */
  otherProject: string
  noProject: string
  expired: string
  /** `{time}` of the expiry. */
  expiredOn: string
  /** `{hours}` from the first use, at `{time}`. */
  expiredAfterUse: string
  issuingFailed: string
  notIssued: string
  /** `{date}` as YYYY-MM-DD. */
  notValidOn: string
  /** `{dates}` that are to come, as YYYY-MM-DD. */
  validOn: string
  /** `{dates}`, and `{count}` more. */
  validOnAndMore: string
  /** `{time}` from which it is. */
  notValidYet: string
  /** `{time}` since which it is not. */
  noLongerValid: string
  notValidNow: string
  alreadyUsed: string
  /** `{use}`: time and place. */
  alreadyUsedOn: string
  /** `{count}` of so many uses, `{use}` of the first: time and place. */
  usedUp: string
  usedUpThis: OfPeriod
  /** In this window. */
  usedUpNow: string
  /** `{time}` of the last use, and `{again}`, from when on it is valid. */
  tooSoon: string
  tooClose: string
  /** `{time}` of the other use. */
  tooCloseTo: string
  valid: string
  /** Use `{number}` of `{count}`. */
  use: string
  useThis: OfPeriod
  /** In this window. */
  useNow: string
  /** `{time}` of the scan. */
  takenBack: string
}
