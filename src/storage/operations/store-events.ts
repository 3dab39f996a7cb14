import type { Platform } from '../../core/contract/schemas/platform.ts'
import type { DeliveryStatus } from '../../core/contract/webhooks/deliveries.ts'
import type { EventType } from '../../core/contract/webhooks/event-data.ts'
import type { JobKind, OnDue } from '../jobs/job-kinds.ts'
import type { StoredNotification } from '../messages/notification-row.ts'
import type { StoredScan } from '../scans/scan-row.ts'
import type { DueDelivery } from '../webhooks/delivery-row.ts'

/**
 * The outcome of a job run. `put_off`: the job runs again later, and this run does not count as an attempt. `gave_up`:
 * the job failed, and runs again only if an operator retries it. If the lease ended before the run did, the outcome is
 * `lapsed`, or `quarantined` if the job has lapsed MAX_JOB_LAPSES times.
 */
export type JobOutcome = 'done' | 'retried' | 'put_off' | 'gave_up' | 'lapsed' | 'quarantined'

/** A committed fact, for metrics and subscribers. Rolled-back transactions emit nothing. */
export type StoreEvent =
  | { what: 'runs'; kind: JobKind; outcome: JobOutcome; count: number }
  | { what: 'event'; type: EventType; workspaceId: string }
  /**
   * Deliveries to this endpoint are due now. `made` has the deliveries that the transaction created. If `made` is
   * undefined, the listener must read the due deliveries.
   */
  | { what: 'deliveries'; webhookId: string; made: DueDelivery[] | undefined }
  | ({ what: 'scan' } & Pick<StoredScan, 'result' | 'reason' | 'verified'>)
  | { what: 'notification'; platform: Platform; status: StoredNotification['apple']['status'] }
  | { what: 'broadcast' }
  | { what: 'upgraded'; passes: number }
  /** The status of a delivery after an attempt; PENDING if another attempt will follow. */
  | { what: 'attempt'; status: DeliveryStatus }

/** Emits an event. Listeners receive it after the transaction commits. */
export type Emit = (event: StoreEvent) => void

export interface StoreListener {
  /** Called after a commit that made jobs due, to wake a local worker. */
  onDue?: OnDue
  onEvent?: Emit
}
