import type { Definition, FieldGroup, Warning, WarningCode } from '../../contract/schemas/definition.ts'

/** Returns the path of the field with this key in the design, or `undefined` if the field comes from an override. */
export function pathIn({ design }: Definition, key: string): Warning['path'] | undefined {
  for (const [group, fields] of Object.entries(design.fields) as [FieldGroup, { key: string }[]][]) {
    const index = fields.findIndex((field) => field.key === key)
    if (index >= 0) return ['design', 'fields', group, index]
  }
  return undefined
}

const MAX_QUOTED = 40

export function quote(text: string): string {
  const chars = [...text]
  return `“${chars.length > MAX_QUOTED ? `${chars.slice(0, MAX_QUOTED - 1).join('')}…` : text}”`
}

export function warn(code: WarningCode, path: Warning['path'], message: string): Warning {
  return { code, path: ['definition', ...path], message }
}
