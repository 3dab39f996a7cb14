import type { Definition, FieldGroup, ImageRole, PassType } from '../../contract/schemas/definition.ts'
import type { Warning, WarningCode } from '../../contract/schemas/warnings.ts'
import type { Card } from '../display/card.ts'
import type { Mosaic } from './mosaic.ts'

export interface PixelSize {
  width: number
  height: number
}

export interface AppleFacts {
  definition: Definition
  passType: PassType
  /** A sample pass with long values, as an iPhone shows it. `null` if the server does not issue for Apple. */
  apple: Card | null
  images: Partial<Record<ImageRole, PixelSize>>
  /** The sizes and mosaics of uploaded strips, by image ID. */
  strips: ReadonlyMap<string, StripPixels>
}

/** A strip image: its mosaic (a grid of average colors), and its size in pixels. */
export interface StripPixels extends PixelSize {
  mosaic: Mosaic
}

/** Returns the path of a field in the design by its key, or `undefined` if the design has no such field. */
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
