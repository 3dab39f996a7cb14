import type { Definition } from '../../core/contract/definition.ts'
import { invalid, Problem } from '../../core/errors.ts'
import {
  compileVariables,
  MAX_VARIABLES_BYTES,
  systemVariableIn,
  type Variables,
  variablesTooLarge,
} from '../../core/rules/variables.ts'

/**
 * Refuses variables that a version does not take.
 * @param written the keys that the request gives; only these can try to write a system variable
 * @throws Problem SYSTEM_VARIABLE_READONLY, VALIDATION_ERROR
 */
export function requireVariables(
  definition: Definition,
  variables: Variables,
  written: string[] = Object.keys(variables),
  check = compileVariables(definition),
): void {
  const systemVariable = systemVariableIn(written)
  if (systemVariable !== undefined) {
    throw new Problem('SYSTEM_VARIABLE_READONLY', { details: { variable: systemVariable } })
  }
  if (variablesTooLarge(variables)) {
    throw invalid([{ path: ['variables'], message: `Must have at most ${MAX_VARIABLES_BYTES / 1024} KiB as JSON` }])
  }
  const issues = check(variables)
  if (issues.length > 0) throw invalid(issues)
}
