import type { Pass, PassCreate, PassUpdate } from '../../core/contract/passes.ts'

/** What a row, or a call, asks a pass to be. */
export interface WantedPass extends Pick<PassCreate, 'templateId' | 'label' | 'variables'> {
  /** The variables that are compared: a file says nothing of a variable that it has no column for. */
  names: readonly string[]
}

/** How the pass that is there stands to what is asked for. */
export type Standing = 'present' | 'differs' | 'void' | 'otherTemplate'

interface Difference {
  /** A variable, or null for the label. */
  variable: string | null
  there: unknown
  /** Undefined where nothing is asked for. */
  wanted: unknown
}

export function standingOf(pass: Pass, wanted: WantedPass): Standing {
  if (pass.templateId !== wanted.templateId) return 'otherTemplate'
  if (pass.status === 'VOID') return 'void'
  return differencesOf(pass, wanted).length > 0 ? 'differs' : 'present'
}

/** In words, with what the pass has: `label is "Ada"; seat is not set`. */
export function describeDifferences(pass: Pass, wanted: WantedPass, labelColumn: string): string {
  return differencesOf(pass, wanted)
    .map(({ variable, there }) => `${variable ?? labelColumn} is ${there === undefined ? 'not set' : quote(there)}`)
    .join('; ')
}

/** The change that makes the pass what is asked for: what is compared and not given is removed. */
export function changeTo(pass: Pass, wanted: WantedPass): PassUpdate {
  const differences = differencesOf(pass, wanted)
  const variables = differences.filter((difference) => difference.variable !== null)
  return {
    ...(variables.length < differences.length && { label: wanted.label }),
    ...(variables.length > 0 && {
      variables: Object.fromEntries(variables.map(({ variable, wanted: value }) => [variable, value ?? null])),
    }),
  }
}

function differencesOf(pass: Pass, { label, variables, names }: WantedPass): Difference[] {
  return [
    { variable: null, there: pass.label, wanted: label },
    ...names.map((name) => ({ variable: name, there: own(pass.variables, name), wanted: own(variables, name) })),
  ].filter(({ there, wanted }) => there !== wanted)
}

function own(variables: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(variables, name) ? variables[name] : undefined
}

const SHOWN_CHARACTERS = 60

function quote(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text
}
