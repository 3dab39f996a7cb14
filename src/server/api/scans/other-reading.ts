import { otherReadings } from '../../../core/barcode-formats.ts'
import { identifierDigest } from '../../../core/rules/crypto/scan-code.ts'
import type { RequestContext } from '../../context.ts'
import type { Attempt } from './evaluate-scans.ts'

/** The maximum number of passes that are checked per message for the barcode format. */
const MAX_PASSES = 100

/**
 * If no pass matches a scan, returns the original message that the scanner altered, and the passes with that message. A
 * pass matches only if its barcode has the format for which scanners alter the message. Returns `undefined` if no pass
 * matches.
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
