import { alertsOf } from '../../../core/rules/zones/capacity.ts'
import type { Repositories } from '../../../storage/store.ts'
import type { StoredZone } from '../../../storage/zones/zones-repository.ts'

/** A change in a zone, with the number of people inside after it. */
interface Step {
  inside: number
  correlationId: string
  at: Date
}

/**
 * Writes an event for each capacity threshold that the number of people inside newly reached. The caller must have
 * locked the zone. Otherwise, concurrent changes could report a threshold twice.
 */
export async function writeCapacityAlerts(
  tx: Repositories,
  workspaceId: string,
  { id, projectId, name, capacity, alerted }: StoredZone,
  steps: Step[],
): Promise<void> {
  let level = alerted
  const events = steps.flatMap(({ inside, correlationId, at }) => {
    const alerts = alertsOf(level, { inside, capacity })
    level = alerts.level
    return alerts.passed.map((percent) => ({
      type: 'zone.capacity' as const,
      subject: id,
      data: { id, projectId, name, inside, capacity: capacity!, percent },
      correlationId,
      at,
    }))
  })
  if (level !== alerted) await tx.zones.setAlerted(workspaceId, id, level)
  if (events.length > 0) await tx.events.insert(workspaceId, events, events[0]!.at)
}
