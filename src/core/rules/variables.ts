import { z } from 'zod'
import { codePointLength, timestampPattern } from '../contract/common.ts'
import type { Definition, VariableDefinition, VariableFormat } from '../contract/definition.ts'
import type { Issue } from '../errors.ts'

/** The variables of a pass: declared ones are strings, others any JSON value (decisions on templates and variables). */
export type Variables = Record<string, unknown>

const MAX_VARIABLES = 200
export const MAX_VARIABLES_BYTES = 64 * 1024

/** One pattern for each format, both published in the JSON Schema and used by the server. */
export const formatPatterns: Record<Exclude<VariableFormat, 'text'>, { pattern: string; example: string }> = {
  date: { pattern: z.regexes.date.source, example: '2027-05-31' },
  'date-time': { pattern: timestampPattern, example: '2027-05-31T19:30:00Z' },
  number: { pattern: '^-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?$', example: '12.50' },
  url: { pattern: '^https?://[^\\s/?#]+[^\\s]*$', example: 'https://example.com/' },
  email: { pattern: z.regexes.email.source, example: 'ada@example.com' },
}

const SYSTEM_NAME = '^[^.]*$'

/** The JSON Schema (draft 2020-12) of the variables that a template version takes. */
export function variablesSchema(variables: readonly VariableDefinition[]) {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object' as const,
    properties: Object.fromEntries(
      variables.map((variable) => [
        variable.name,
        {
          type: 'string' as const,
          title: variable.label,
          ...(variable.maxLength !== undefined && { maxLength: variable.maxLength }),
          ...(patternOf(variable) && { pattern: patternOf(variable) }),
          ...(variable.default !== undefined && { default: variable.default }),
          ...(variable.example !== undefined && { examples: [variable.example] }),
        },
      ]),
    ),
    required: variables.filter(isRequired).map((variable) => variable.name),
    additionalProperties: true,
    maxProperties: MAX_VARIABLES,
    propertyNames: { pattern: SYSTEM_NAME },
  }
}

export type CheckVariables = (variables: Variables) => Issue[]

/** Compiles the check that agrees exactly with `variablesSchema`; issues carry paths below `variables`. */
export function compileVariables(declared: readonly VariableDefinition[]): CheckVariables {
  const checks = declared.map((variable) => ({ variable, check: compileValue(variable) }))
  return (variables) => {
    const issues: Issue[] = []
    if (Object.keys(variables).length > MAX_VARIABLES) {
      issues.push({ path: ['variables'], message: `Must have at most ${MAX_VARIABLES} keys` })
    }
    for (const { variable, check } of checks) {
      const path = ['variables', variable.name]
      if (!Object.hasOwn(variables, variable.name)) {
        if (isRequired(variable)) issues.push({ path, message: `Is required (${variable.label})` })
        continue
      }
      const message = check(variables[variable.name])
      if (message) issues.push({ path, message })
    }
    return issues
  }
}

/** The first key that only the system may write, if there is one. */
export function systemVariableIn(names: readonly string[]): string | undefined {
  return names.find((name) => name.includes('.'))
}

export function variablesTooLarge(variables: Variables): boolean {
  return Buffer.byteLength(JSON.stringify(variables)) > MAX_VARIABLES_BYTES
}

/** What is wrong with the declarations themselves: names given twice, defaults and examples that break their own rule. */
export function checkDeclarations(variables: Definition['variables']): Issue[] {
  const issues: Issue[] = []
  const seen = new Set<string>()
  variables.forEach((variable, index) => {
    if (seen.has(variable.name)) {
      issues.push({ path: ['variables', index, 'name'], message: `The variable ${variable.name} is declared twice` })
    }
    seen.add(variable.name)
    const check = compileValue(variable)
    for (const key of ['default', 'example'] as const) {
      const message = variable[key] === undefined ? undefined : check(variable[key])
      if (message) issues.push({ path: ['variables', index, key], message })
    }
  })
  return issues
}

function compileValue({ maxLength = Number.POSITIVE_INFINITY, ...variable }: VariableDefinition) {
  const source = patternOf(variable)
  const pattern = source ? new RegExp(source, 'u') : undefined
  return (value: unknown): string | undefined => {
    if (typeof value !== 'string') return 'Must be a string: a declared variable is rendered as text'
    if (codePointLength(value) > maxLength) return `Must have at most ${maxLength} characters`
    if (pattern && !pattern.test(value)) {
      return `Must be of the format ${variable.format}, such as ${formatPatterns[variable.format as 'date'].example}`
    }
    return undefined
  }
}

function patternOf(variable: Pick<VariableDefinition, 'format'>): string | undefined {
  return variable.format && variable.format !== 'text' ? formatPatterns[variable.format].pattern : undefined
}

function isRequired(variable: VariableDefinition): boolean {
  return variable.required && variable.default === undefined
}
