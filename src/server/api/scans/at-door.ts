import type { ScanContext } from '../../../core/contract/scan-shapes.ts'
import type { RequestContext } from '../../context.ts'

/** What is said of a scan, as it is recorded: of one that a door made the server says where, whatever the door said. */
export function atDoor<S extends { deviceId?: string | undefined; context?: ScanContext | undefined }>(
  scan: S,
  { token }: Pick<RequestContext, 'token'>,
): S {
  if (!token.door) return scan
  return { ...scan, deviceId: token.id, context: { ...scan.context, gate: token.door.gate } }
}
