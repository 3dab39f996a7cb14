import { isDeepStrictEqual } from 'node:util'
import type { PassUpdate } from '../../core/contract/passes.ts'
import { validationError } from '../../core/errors.ts'
import { identifierDigest } from '../../core/rules/crypto/scan-code.ts'
import { barcodeMessage } from '../../core/rules/display/card.ts'
import { groupKeyOf, groupOf, type PassGroup } from '../../core/rules/pass/groups.ts'
import { mergeVariables, statusAfterUpdate, systemVariableError } from '../../core/rules/pass/pass-rules.ts'
import type { Scope } from '../../core/rules/template/placeholder.ts'
import { buildScope } from '../../core/rules/template/resolve.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { PassChange } from '../../storage/passes/passes-repository.ts'
import type { Wallets } from '../../wallets/wallets.ts'
import type { VersionContent } from '../wallet-sync/definitions.ts'
import { compileVersion } from './compile-version.ts'

/** The template version of a pass before an update (`before`) and after the update (`version`). */
interface Versions {
  version: VersionContent
  before: VersionContent
}

/**
 * Returns the content of a pass after an update, except its class, which `followClasses` assigns.
 * @throws ApiError SYSTEM_VARIABLE_READONLY, VALIDATION_ERROR
 */
export function planChange(
  pass: StoredPass,
  body: PassUpdate,
  { version, before, wallets, now }: Versions & { wallets: Wallets; now: Date },
): PassChange {
  const variables = mergeVariables(pass.variables, body.variables ?? {})
  // Check only the variables in the request, because stored ones never include a system variable.
  const rejection = systemVariableError(Object.keys(body.variables ?? {}))
  if (rejection) throw rejection
  const facts = { ...pass, label: body.label ?? pass.label, variables }
  const resolved = compileVersion(version, wallets)(facts)
  if ('issues' in resolved) throw validationError(resolved.issues)
  const scope = buildScope(version.definition, facts, resolved.expiresAt)
  return {
    ...resolved,
    label: facts.label,
    variables,
    scanCode: pass.scanCode,
    scanPayload: pass.scanPayload,
    templateVersionId: version.id,
    templateVersion: version.version,
    group: groupAfter(pass, body.groupKey, { version, before, scope }),
    status: statusAfterUpdate(pass.status, resolved.expiresAt, now),
    identifierDigest: identifierDigest(barcodeMessage(version.definition, scope)),
  }
}

/**
 * Returns the group of the updated pass: the group in the request, or else the group that the template computes. If an
 * earlier request put the pass into another group, the pass stays there unless the request contains a group.
 */
function groupAfter(
  pass: StoredPass,
  asked: string | null | undefined,
  { version, before, scope }: Versions & { scope: Scope },
): PassGroup | null {
  const { workspaceId, projectId, group } = pass
  const scopeBefore = buildScope(before.definition, pass, pass.expiresAt)
  const isOfTemplate = (group?.key ?? null) === groupKeyOf(before.definition, scopeBefore)
  const key = asked === undefined && isOfTemplate ? groupKeyOf(version.definition, scope) : asked
  if (key === undefined || key === group?.key) return group
  return key === null ? null : groupOf(workspaceId, projectId, key)
}

/** Whether the update changes the pass. Compares numbers as JSON stores them, so that 0 equals -0. */
export function isChange(
  pass: StoredPass,
  { label, variables, templateVersionId, scanCode, group }: PassChange,
): boolean {
  return (
    label !== pass.label ||
    scanCode !== pass.scanCode ||
    group?.id !== pass.group?.id ||
    templateVersionId !== pass.templateVersionId ||
    !isDeepStrictEqual(JSON.parse(JSON.stringify(variables)), pass.variables)
  )
}
