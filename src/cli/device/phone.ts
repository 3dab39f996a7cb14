/** What commands ask of a virtual phone, whichever platform it plays. */

/** What became of one pass. */
export interface PassChange {
  /** Serial number or object id. */
  pass: string
  /** What the lock screen shows; empty where the phone updates the pass in silence. */
  banners: string[]
  at: string
}

export interface CheckResult {
  changes: PassChange[]
  /** What kept the phone from showing what the server has; a real one would only log it. */
  problems: string[]
}

/** Somebody who tells the phone that there is news. */
export interface PushSource {
  name: string
  /** Where to listen, as it stands now: a server that was restarted may have moved its emulators. */
  locate(): Promise<string>
}

export interface Phone {
  /** Opens a hosted link and installs its pass; resolves to its serial number or object id. */
  install(link: string): Promise<string>
  /** Looks for news and takes it. */
  check(): Promise<CheckResult>
  /** Removes a pass and says so to its platform. */
  remove(pass: string): Promise<void>
  sources(): PushSource[]
}
