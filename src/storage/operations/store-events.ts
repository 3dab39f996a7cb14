import type { DeliveryStatus } from '../../core/contract/deliveries.ts'
import type { Platform } from '../../core/contract/platform.ts'
import type { EventType } from '../../core/events.ts'
import type { JobKind, Queue } from '../jobs/job-kinds.ts'
import type { StoredNotification } from '../messages/notification-row.ts'
import type { StoredScan } from '../scans/scan-row.ts'
import type { DueDelivery } from '../webhooks/delivery-row.ts'

/**
 * How a run of a job ended: it is done, to be tried again, put off before it began, or given up for good; or its lease
 * lapsed, for the last time where the job is then quarantined.
 */
export type JobOutcome = 'done' | 'retried' | 'put_off' | 'gave_up' | 'lapsed' | 'quarantined'

/** Something that a transaction brought, for whoever keeps count; nothing that was rolled back is ever told. */
export type StoreEvent =
  | { what: 'runs'; kind: JobKind; outcome: JobOutcome; count: number }
  | { what: 'event'; type: EventType; workspaceId: string }
  /** Deliveries that are due now, for this endpoint: all that a transaction made, or undefined where they are to be read. */
  | { what: 'deliveries'; webhookId: string; made: DueDelivery[] | undefined }
  | ({ what: 'scan' } & Pick<StoredScan, 'result' | 'reason' | 'verified'>)
  | { what: 'notification'; platform: Platform; status: StoredNotification['apple']['status'] }
  | { what: 'broadcast' }
  /** The state of a delivery after an attempt: PENDING where it is to be tried again. */
  | { what: 'attempt'; status: DeliveryStatus }

/** Tells an event, which listeners get once the transaction is committed. */
export type Emit = (event: StoreEvent) => void

/** Told what the store has committed. */
export interface StoreListener {
  /** Called after a commit that made jobs of a queue due, so that a worker here wakes at once. */
  onDue?(queue: Queue): void
  /** Called after the commit. */
  onEvent?: Emit
}
