import type { Definition } from '../../contract/definition.ts'
import type { DoorView } from '../../contract/scan-shapes.ts'
import type { Issue } from '../../errors.ts'
import { fill, type Scope } from '../template/placeholder.ts'

/** More than anybody reads at a door; lists of thousands hold the view of each pass. */
const MAX_LENGTH = 500

type DoorDefinition = Pick<Definition, 'door' | 'variables'>

/** What the operator must see of a pass; undefined where its version says nothing. What has no value is left out. */
export function doorViewOf({ door, variables }: DoorDefinition, scope: Scope): DoorView | undefined {
  if (!door) return undefined
  const shown = new Set(door.show)
  const labels = new Map(variables.filter(({ name }) => shown.has(name)).map(({ name, label }) => [name, label]))
  const fields = door.show.map((name) => ({ label: labels.get(name) ?? name, value: shorten(`{{${name}}}`, scope) }))
  const notice = door.notice === undefined ? '' : shorten(door.notice, scope)
  return { fields: fields.filter(({ value }) => value !== ''), notice: notice || null }
}

function shorten(template: string, scope: Scope): string {
  const text = fill(template, scope).trim()
  if (text.length <= MAX_LENGTH) return text
  return `${text.slice(0, MAX_LENGTH - 1).toWellFormed()}…`
}

/** What is wrong with the names of a door view; placeholders of its notice are checked with all others. */
export function* checkDoor({ door, variables }: DoorDefinition): Generator<Issue> {
  const declared = new Set(variables.map(({ name }) => name))
  for (const [index, name] of (door?.show ?? []).entries()) {
    const path = ['door', 'show', index]
    if (!declared.has(name)) yield { path, message: `There is no variable ${name}: declare it, or leave it out` }
    else if (door!.show.indexOf(name) < index) yield { path, message: `The variable ${name} stands twice` }
  }
}
