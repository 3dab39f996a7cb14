import type { PassStatus } from '../../contract/schemas/common.ts'
import type { Definition } from '../../contract/schemas/definition.ts'
import type { ChangedField } from '../../contract/webhooks/event-data.ts'
import { ApiError, type Issue, listIssues } from '../../errors.ts'
import { compileBarcode } from '../template/barcode.ts'
import { compileFacts } from '../template/fact-rules.ts'
import { compileLinks } from '../template/link-schemes.ts'
import type { Scope } from '../template/placeholder.ts'
import { bytesIn, compileSizes, toValueIssues } from '../template/rendered-size.ts'
import { buildScope, type PassFacts, type Resolved, resolvePolicies } from '../template/resolve.ts'
import { checkVariablesSize, compileVariables, type Variables } from '../template/variables.ts'
import { compileGroup } from './groups.ts'
import { compileNfc } from './nfc.ts'

/** Returns the expiry and policy of a pass, or the issues of its values. The path of an issue refers to the request. */
export type CheckPass = (facts: PassFacts) => Resolved | { issues: Issue[] }

/** Checks the values of a pass by one rule. The path of an issue refers to the request. */
export type CheckValues = (scope: Scope) => Issue[]

/**
 * Compiles all rules of a template version into one check of a pass's values. Requests that create or update a pass
 * share this check with `passes issue`.
 * @param platformChecks the checks of the platforms, which only the server runs
 */
export function compilePass(definition: Definition, platformChecks: readonly CheckValues[] = []): CheckPass {
  const checkVariables = compileVariables(definition)
  const findOversizes = compileSizes(definition)
  const checkBarcode = compileBarcode(definition)
  const own = [compileLinks(definition), compileGroup(definition), compileFacts(definition), compileNfc(definition)]
  const checks = [checkBarcode, ...own, ...platformChecks].filter((check) => check !== undefined)
  return (facts) => {
    const oversize = checkVariablesSize(facts.variables)
    if (oversize.length > 0) return { issues: oversize }
    const issues = checkVariables(facts.variables)
    if (issues.length > 0) return { issues }
    // Check sizes before filling any text. Otherwise, a small request could cause the filling of huge texts.
    const tooLarge = toValueIssues(findOversizes(bytesIn(buildScope(definition, facts))))
    if (tooLarge.length > 0) return { issues: tooLarge }
    const resolved = resolvePolicies(definition, facts)
    if ('issues' in resolved || checks.length === 0) return resolved
    const scope = buildScope(definition, facts, resolved.expiresAt)
    const found = listIssues(checks.flatMap((check) => check(scope)))
    return found.length > 0 ? { issues: found } : resolved
  }
}

/** Returns a SYSTEM_VARIABLE_READONLY error for the first name of a system variable, which requests cannot write. */
export function systemVariableError(names: readonly string[]): ApiError | undefined {
  const variable = names.find((name) => name.includes('.'))
  return variable === undefined ? undefined : new ApiError('SYSTEM_VARIABLE_READONLY', { details: { variable } })
}

/** Merges variables: supplied values replace stored ones, omitted keys keep their values, and `null` removes a key. */
export function mergeVariables(stored: Variables, supplied: Variables): Variables {
  const merged = new Map(Object.entries(stored))
  for (const [name, value] of Object.entries(supplied)) {
    if (value === null) merged.delete(name)
    else merged.set(name, value)
  }
  return Object.fromEntries(merged)
}

/** Returns the fields that `pass.updated` reports: each field that the request wrote, even if it did not change. */
export function changedFields(written: {
  label: boolean
  variables: boolean
  version: boolean
  scanCode?: boolean
  groupKey?: boolean
}): ChangedField[] {
  return [
    ...(written.label ? (['label'] as const) : []),
    ...(written.version ? (['templateVersionId'] as const) : []),
    ...(written.variables || written.version ? (['variables', 'redemption', 'expiresAt'] as const) : []),
    ...(written.scanCode ? (['scanCode'] as const) : []),
    ...(written.groupKey ? (['groupKey'] as const) : []),
  ]
}

/** Returns the status after an update: FAILED becomes QUEUED, and EXPIRED becomes ISSUED unless `expiresAt` is past. */
export function statusAfterUpdate(status: PassStatus, expiresAt: Date | null, at: Date): PassStatus {
  if (status === 'FAILED') return 'QUEUED'
  if (status === 'EXPIRED' && (expiresAt === null || expiresAt > at)) return 'ISSUED'
  return status
}
