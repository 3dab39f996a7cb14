import { type BarcodeFormat, otherReadings } from '../../../core/barcode-formats.ts'
import { identifierDigest } from '../../../core/rules/crypto/scan-code.ts'
import { readFormatOf } from '../../../core/rules/display/card.ts'
import type { RequestContext } from '../../context.ts'
import type { Attempt } from './attempt.ts'

/** The maximum number of passes per query. Also the maximum number of passes that are considered for one message. */
const MAX_PASSES = 100

type Scanned = Pick<Attempt, 'qrPayload' | 'passId' | 'projectId' | 'matches'>

/**
 * Finds passes for scans without a match: a scanner may have altered the message of the barcode. Returns the original
 * message and its passes for each scan; `undefined` if the scan already has a match, or no pass is found. A pass
 * matches only if its barcode has the format for which scanners alter the message.
 */
export async function findOtherReadings(
  scans: Scanned[],
  { store, workspaceId, services }: Pick<RequestContext, 'store' | 'workspaceId' | 'services'>,
): Promise<({ qrPayload: string; matches: string[] } | undefined)[]> {
  const readingsByScan = scans.map(({ qrPayload, passId, projectId, matches }) => {
    const isUnknown = passId === undefined && qrPayload !== undefined && matches.length === 0
    return (isUnknown ? otherReadings(qrPayload) : []).map((reading) => ({ ...reading, projectId }))
  })
  const readings = readingsByScan.flat()
  if (readings.length === 0) return scans.map(() => undefined)
  const codes = readings.map(({ message, projectId }) => ({ digest: identifierDigest(message), projectId }))
  const found = await store.identifiers.listPassIds(workspaceId, codes)
  const candidates = new Map(readings.map((reading, n) => [reading, found[n]!.slice(0, MAX_PASSES)]))
  const ids = [...new Set([...candidates.values()].flat())]
  const formats = new Map<string, BarcodeFormat | undefined>()
  for (let first = 0; first < ids.length; first += MAX_PASSES) {
    const passes = await store.passes.listByIds(workspaceId, ids.slice(first, first + MAX_PASSES))
    for (const { id, templateVersionId } of passes) {
      const definition = await services.definitions.find(workspaceId, templateVersionId)
      formats.set(id, definition && readFormatOf(definition))
    }
  }
  return readingsByScan.map((of) => {
    const named = of.map((reading) => ({
      qrPayload: reading.message,
      matches: candidates.get(reading)!.filter((id) => formats.get(id) === reading.format),
    }))
    return named.find(({ matches }) => matches.length > 0)
  })
}
