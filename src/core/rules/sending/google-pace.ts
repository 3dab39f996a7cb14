/**
 * The rate limit of requests per second to a Google issuer, which allows about 20. Each identity has a separate rate.
 */
export const GOOGLE_REQUESTS_A_SECOND = 18

/** Returns the duration, in seconds, of a number of requests to one issuer without other traffic. */
export function secondsAtGooglePace(requests: number): number {
  return Math.ceil(requests / GOOGLE_REQUESTS_A_SECOND)
}
