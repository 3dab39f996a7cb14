/** Requests a second that an issuer of Google is sent: it takes about 20. Each identity has this pace for itself. */
export const GOOGLE_REQUESTS_A_SECOND = 18

/** The seconds that so many requests to one issuer take, where no others wait. */
export function secondsAtGooglePace(requests: number): number {
  return Math.ceil(requests / GOOGLE_REQUESTS_A_SECOND)
}
