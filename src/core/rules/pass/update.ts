import type { PassStatus } from '../../contract/pass-status.ts'
import type { ChangedField } from '../../events.ts'
import type { Variables } from '../template/variables.ts'

/** Supplied keys replace, omitted ones keep theirs, null removes (spec 4.2). */
export function mergeVariables(stored: Variables, supplied: Variables): Variables {
  const merged = new Map(Object.entries(stored))
  for (const [name, value] of Object.entries(supplied)) {
    if (value === null) merged.delete(name)
    else merged.set(name, value)
  }
  return Object.fromEntries(merged)
}

/**
 * What pass.updated reports (spec 6): the fields that the request wrote, whether or not their values are new. Empty when
 * it writes nothing.
 */
export function changedFields(written: { label: boolean; variables: boolean; version: boolean }): ChangedField[] {
  return [
    ...(written.label ? (['label'] as const) : []),
    ...(written.version ? (['templateVersionId'] as const) : []),
    ...(written.variables || written.version ? (['variables', 'redemption', 'expiresAt'] as const) : []),
  ]
}

/** Where an update takes a pass that is not void: a failed one is tried again, an expired one may live again. */
export function statusAfterUpdate(status: PassStatus, expiresAt: Date | null, at: Date): PassStatus {
  if (status === 'FAILED') return 'QUEUED'
  if (status === 'EXPIRED' && (expiresAt === null || expiresAt > at)) return 'ISSUED'
  return status
}
