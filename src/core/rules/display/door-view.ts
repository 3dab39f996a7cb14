import type { Definition } from '../../contract/schemas/definition.ts'
import type { DoorView } from '../../contract/schemas/scan-shapes.ts'
import type { Issue } from '../../errors.ts'
import { fill, type Scope } from '../template/placeholder.ts'
import { type About, aboutOf } from './about.ts'

/** The maximum length of a text in a door view. A snapshot contains the door views of thousands of passes. */
const MAX_LENGTH = 500

type DoorDefinition = Pick<Definition, 'door' | 'variables' | 'event' | 'trip'>

/** Returns the non-empty fields and the notice for the operator, or `undefined` without door instructions. */
export function doorViewOf(definition: DoorDefinition, scope: Scope): DoorView | undefined {
  const { door, variables } = definition
  if (!door) return undefined
  const shown = new Set(door.show)
  const labels = new Map(variables.filter(({ name }) => shown.has(name)).map(({ name, label }) => [name, label]))
  const chosen = door.show.map((name) => ({ label: labels.get(name) ?? name, value: shorten(`{{${name}}}`, scope) }))
  const fields = chosen.length > 0 ? chosen : factFields(aboutOf(definition, scope))
  const notice = door.notice === undefined ? '' : shorten(door.notice, scope)
  return { fields: fields.filter(({ value }) => value !== ''), notice: notice || null }
}

/** Returns fields for the event or trip, and the seat. They are the default if a definition selects no variables. */
function factFields({ event, trip }: About): DoorView['fields'] {
  const { section, row, seat, gate } = event?.seat ?? {}
  const code = [trip?.carrier?.code, trip?.number].filter(Boolean).join(' ')
  const stops = [trip?.from, trip?.to].map((stop) => stop?.code ?? stop?.name).filter(Boolean)
  const fields = [
    { label: 'Event', value: event?.name },
    { label: 'Trip', value: [code, stops.join(' – ')].filter(Boolean).join(', ') },
    { label: 'Section', value: section },
    { label: 'Row', value: row },
    { label: 'Seat', value: seat ?? trip?.seat },
    { label: 'Gate', value: gate ?? trip?.gate },
    { label: 'Group', value: trip?.group },
  ]
  return fields.map(({ label, value = '' }) => ({ label, value: cut(value) }))
}

function shorten(template: string, scope: Scope): string {
  return cut(fill(template, scope).trim())
}

function cut(text: string): string {
  if (text.length <= MAX_LENGTH) return text
  return `${text.slice(0, MAX_LENGTH - 1).toWellFormed()}…`
}

/** Checks the variable names in the door instructions. The general check of placeholders covers the notice. */
export function* checkDoor({ door, variables }: DoorDefinition): Generator<Issue> {
  const declared = new Set(variables.map(({ name }) => name))
  for (const [index, name] of (door?.show ?? []).entries()) {
    const path = ['door', 'show', index]
    if (!declared.has(name)) yield { path, message: `Unknown variable ${name}: declare it, or remove it` }
    else if (door!.show.indexOf(name) < index) yield { path, message: `Duplicate variable ${name}` }
  }
}
