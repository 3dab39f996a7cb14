import { z } from 'zod'
import { codePointLength } from '../../bounds.ts'
import { timestampPattern } from '../../contract/schemas/common.ts'
import type { VariableDefinition, VariableFormat } from '../../contract/schemas/definition.ts'
import type { Issue } from '../../errors.ts'
import { type Users, usesOf, type VariableUse } from './variable-uses.ts'

/** The variables of a pass. Declared variables are strings. Other variables can have any JSON value. */
export type Variables = Record<string, unknown>

const MAX_VARIABLES = 200
/** The maximum size of the variables of a pass: 64 KiB of JSON in UTF-8. */
const MAX_VARIABLES_BYTES = 64 * 1024

/** The pattern of each format, which the JSON Schema and the server's check share. */
export const formatPatterns: Record<Exclude<VariableFormat, 'text'>, { pattern: string; example: string }> = {
  date: { pattern: z.regexes.date.source, example: '2027-05-31' },
  'date-time': { pattern: timestampPattern, example: '2027-05-31T19:30:00Z' },
  number: { pattern: '^-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?$', example: '12.50' },
  url: { pattern: '^https?://[^\\s/?#][^\\s]*$', example: 'https://example.com/' },
  email: { pattern: z.regexes.email.source, example: 'ada@example.com' },
  image: { pattern: '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$', example: '0198c7a2-70aa-8b1c-8f4e-3d2b9c6a1f27' },
}

const SYSTEM_NAME = '^[^.]*$'

export type VariableRules = Users & { variables: readonly VariableDefinition[] }

/** Returns the JSON Schema (draft 2020-12) of the variables of a template version. */
export function variablesSchema(definition: VariableRules) {
  const rules = rulesOf(definition)
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object' as const,
    properties: Object.fromEntries(
      rules.map(({ variable, shapes }) => {
        const [first, ...others] = shapes.map(({ rule }) => ('values' in rule ? { enum: rule.values } : rule))
        return [
          variable.name,
          {
            type: 'string' as const,
            title: variable.label,
            ...(variable.maxLength !== undefined && { maxLength: variable.maxLength }),
            ...first,
            ...(others.length > 0 && { allOf: others }),
            ...(variable.default !== undefined && { default: variable.default }),
            ...(variable.example !== undefined && { examples: [variable.example] }),
          },
        ]
      }),
    ),
    required: rules.filter(({ isRequired }) => isRequired).map(({ variable }) => variable.name),
    additionalProperties: true,
    maxProperties: MAX_VARIABLES,
    propertyNames: { pattern: SYSTEM_NAME },
  }
}

export type CheckVariables = (variables: Variables) => Issue[]

/** Compiles a check that is equivalent to `variablesSchema`. Paths start at `variables`. */
export function compileVariables(definition: VariableRules): CheckVariables {
  const checks = rulesOf(definition).map((rule) => ({ ...rule, check: compileValue(rule) }))
  return (variables) => {
    const issues: Issue[] = []
    if (Object.keys(variables).length > MAX_VARIABLES) {
      issues.push({ path: ['variables'], message: `Must have at most ${MAX_VARIABLES} keys` })
    }
    for (const { variable, isRequired, check } of checks) {
      const path = ['variables', variable.name]
      if (!Object.hasOwn(variables, variable.name)) {
        if (isRequired) issues.push({ path, message: `Is required (${variable.label})` })
        continue
      }
      const message = check(variables[variable.name])
      if (message) issues.push({ path, message })
    }
    return issues
  }
}

/**
 * Reports variables that exceed 64 KiB of JSON. Run this check first, because other checks take longer the more
 * variables a pass has.
 */
export function checkVariablesSize(variables: Variables): Issue[] {
  if (Buffer.byteLength(JSON.stringify(variables)) <= MAX_VARIABLES_BYTES) return []
  return [{ path: ['variables'], message: `Must have at most ${MAX_VARIABLES_BYTES / 1024} KiB as JSON` }]
}

/** Checks the declarations: duplicate names, and defaults and examples that break the rule of their variable. */
export function checkDeclarations(definition: VariableRules): Issue[] {
  const issues: Issue[] = []
  const seen = new Set<string>()
  rulesOf(definition).forEach((rule, index) => {
    const { variable } = rule
    if (seen.has(variable.name)) {
      issues.push({ path: ['variables', index, 'name'], message: `The variable ${variable.name} is declared twice` })
    }
    seen.add(variable.name)
    const check = compileValue(rule)
    for (const key of ['default', 'example'] as const) {
      const message = variable[key] === undefined ? undefined : check(variable[key])
      if (message) issues.push({ path: ['variables', index, key], message })
    }
  })
  return issues
}

interface VariableRule {
  variable: VariableDefinition
  isRequired: boolean
  /** The patterns that a value must match: those of its format and of its uses. */
  shapes: Pick<VariableUse, 'rule' | 'wanted'>[]
}

function rulesOf({ variables, ...users }: VariableRules): VariableRule[] {
  const usesByName = usesOf(users)
  return variables.map((variable) => {
    const uses = usesByName.get(variable.name) ?? []
    const shapes = [...formatOf(variable), ...uses].map((shape) => [JSON.stringify(shape.rule), shape] as const)
    return {
      variable,
      isRequired: variable.default === undefined && (variable.required || uses.some(({ isNeeded }) => isNeeded)),
      shapes: [...new Map(shapes).values()],
    }
  })
}

function formatOf({ format = 'text' }: VariableDefinition): VariableRule['shapes'] {
  if (format === 'text') return []
  const { pattern, example } = formatPatterns[format]
  return [{ rule: { pattern }, wanted: `of the format ${format}, such as ${example}` }]
}

function compileValue({ variable: { maxLength = Number.POSITIVE_INFINITY }, shapes }: VariableRule) {
  const checks = shapes.map(({ rule, wanted }) => ({ isTaken: compileRule(rule), wanted }))
  return (value: unknown): string | undefined => {
    if (typeof value !== 'string') return 'Must be a string: a declared variable is rendered as text'
    if (codePointLength(value) > maxLength) return `Must have at most ${maxLength} characters`
    const failed = checks.find(({ isTaken }) => !isTaken(value))
    return failed && `Must be ${failed.wanted}`
  }
}

function compileRule(rule: VariableUse['rule']): (value: string) => boolean {
  if ('values' in rule) {
    const values = new Set(rule.values)
    return (value) => values.has(value)
  }
  const regex = new RegExp(rule.pattern, 'u')
  return (value) => regex.test(value)
}
