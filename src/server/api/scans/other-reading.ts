import { otherReadings } from '../../../core/barcode-formats.ts'
import { identifierDigest } from '../../../core/rules/crypto/scan-code.ts'
import type { RequestContext } from '../../context.ts'
import type { Attempt } from './evaluate-scans.ts'

/** The maximum number of passes per message whose barcode format is looked up. */
const MAX_PASSES = 100

/**
 * Returns the message that a scanner read as the payload of a scan without matches, and its passes. Only passes whose
 * barcode has the format of the reading match. Returns `undefined` if there is none.
 */
export async function findOtherReading(
  { qrPayload, passId, projectId, matches }: Pick<Attempt, 'qrPayload' | 'passId' | 'projectId' | 'matches'>,
  { store, workspaceId, services }: Pick<RequestContext, 'store' | 'workspaceId' | 'services'>,
): Promise<{ qrPayload: string; matches: string[] } | undefined> {
  if (passId !== undefined || qrPayload === undefined || matches.length > 0) return undefined
  const readings = otherReadings(qrPayload)
  if (readings.length === 0) return undefined
  const codes = readings.map(({ message }) => ({ digest: identifierDigest(message), projectId }))
  const found = await store.identifiers.listPassIds(workspaceId, codes)
  for (const [n, { format, message }] of readings.entries()) {
    const passes = await store.passes.listByIds(workspaceId, found[n]!.slice(0, MAX_PASSES))
    const named: string[] = []
    for (const { id, templateVersionId } of passes) {
      const definition = await services.definitions.find(workspaceId, templateVersionId)
      if (definition?.design.barcode?.format === format) named.push(id)
    }
    if (named.length > 0) return { qrPayload: message, matches: named }
  }
  return undefined
}
