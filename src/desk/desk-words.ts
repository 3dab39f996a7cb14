import type { BroadcastStatus } from '../core/contract/broadcasts.ts'
import type { PassStatus } from '../core/contract/common.ts'
import type { NotificationStatus } from '../core/contract/notifications.ts'
import type { ScanReasonCode } from '../core/contract/scan-shapes.ts'

/** The texts of the desk in one language. Names of events stay as the API has them. */
export interface DeskWords {
  desk: string
  token: string
  /** States that the token stays in the tab, and that a read-only one is sufficient. */
  tokenHint: string
  open: string
  forget: string
  tokenRefused: string
  noAnswer: string
  notAllowed: string
  loading: string
  live: string
  /** States that the page polls every few seconds, since the token cannot follow events. */
  asking: string
  project: string
  nothing: string
  /** The number of shown rows and the total, if there are more. */
  shown: string
  lastDay: string
  passes: string
  issued: string
  installed: string
  removed: string
  updated: string
  voided: string
  /** Devices with a pass in Apple Wallet: Google does not report who holds what. */
  phonesCurrent: string
  phonesBehind: string
  scans: string
  /** Passes that can be admitted, or were. */
  expected: string
  /** Passes with an accepted scan. */
  admitted: string
  entriesPerMinute: string
  /** The heading of a column of entries per minute. */
  perMinute: string
  accepted: string
  denied: string
  /** The result of a reversal. */
  takenBack: string
  reasons: Record<ScanReasonCode, string>
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
  statuses: Record<PassStatus | BroadcastStatus | NotificationStatus, string>
  waiting: string
  sent: string
  failed: string
  failingDeliveries: string
  lastAttemptFailed: string
  nextAttempt: string
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
  /** The number of pending background jobs. */
  waitingJobs: string
  draftsPerTemplate: string
  scheduledSends: string
  requestsInFlight: string
  doors: string
  lastSeen: string
  /** Doors without a request for an hour. */
  silent: string
  /** Scans that a door has not uploaded yet. */
  pendingScans: string
  search: string
  searchField: string
  noPass: string
  back: string
  externalId: string
  /** Precedes the decision that a scan would get now. */
  ifScannedNow: string
  revision: string
  created: string
  expires: string
  cards: string
  wallets: string
  device: string
  holds: string
  /** Whether a wallet holds the newest version. */
  walletStates: { current: string; stale: string }
  notifications: string
  events: string
  commands: string
  copy: string
  copied: string
}
