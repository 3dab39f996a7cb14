export type JsonObject = Record<string, unknown>

export interface Note {
  /** The path of a file in the bundle, or of a key in its pass.json. */
  path: string
  reason: string
}

/** The parts of a template that differ in the definition, for the designer to check. */
export interface Report {
  /** Keys of pass.json that a design does not have, and that the definition keeps in `apple`. */
  kept: Note[]
  /** Parts of the template that the import left out of the definition. */
  unmapped: Note[]
  /** Values that the import replaced, or assumed because the template lacks them. */
  assumed: Note[]
}

/** Returns a text without the characters that a definition rejects. */
export function cleanText(text: string): string {
  return text.replaceAll('\0', '').toWellFormed()
}
