/** What the desk says in one language; names of the interface, such as reasons and events, stand as they are in it. */
export interface DeskWords {
  desk: string
  token: string
  /** That it stays in the tab, and that one which reads is enough. */
  tokenHint: string
  open: string
  forget: string
  tokenRefused: string
  noAnswer: string
  notAllowed: string
  loading: string
  live: string
  /** That the page asks every few seconds, since the token may not follow events. */
  asking: string
  project: string
  nothing: string
  /** Before how many rows of how many are on the page, where there are more. */
  shown: string
  lastDay: string
  passes: string
  issued: string
  installed: string
  removed: string
  updated: string
  voided: string
  phonesCurrent: string
  phonesLate: string
  scans: string
  accepted: string
  denied: string
  byGate: string
  gate: string
  noGate: string
  latestScans: string
  time: string
  result: string
  reason: string
  pass: string
  broadcasts: string
  message: string
  status: string
  waiting: string
  sent: string
  failed: string
  failedDeliveries: string
  event: string
  attempts: string
  error: string
  identities: string
  name: string
  platform: string
  daysLeft: string
  limits: string
  used: string
  allowed: string
  webhooks: string
  storedBytes: string
  /** The queue: background work that waits. */
  waitingJobs: string
  draftsPerTemplate: string
  scheduledSends: string
  requestsInFlight: string
  doors: string
  lastSeen: string
  /** Scans that a door has still to report. */
  pendingScans: string
  search: string
  searchField: string
  noPass: string
  back: string
  revision: string
  created: string
  expires: string
  cards: string
  wallets: string
  device: string
  holds: string
  notifications: string
  events: string
  commands: string
  copy: string
  copied: string
}
