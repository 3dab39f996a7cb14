import { z } from 'zod'
import { withoutProto } from './common.ts'

/** A language tag (BCP 47), such as pt, pt-BR, or zh-Hans. */
const Language = z
  .string()
  .max(35)
  .regex(
    /^[a-z]{2,3}(?:-[A-Z][a-z]{3})?(?:-(?:[A-Z]{2}|[0-9]{3}))?$/,
    'Must be a language such as pt, pt-BR or zh-Hans',
  )

/** The language of a preview. It must be a language of the definition. */
export const PreviewLanguage = z.string().min(1).max(35).meta({
  description:
    'The language of the texts, which must be a language of the definition. Default: the default language of the definition.',
  example: 'pt',
})

/** The languages of a definition. */
export const Languages = z.strictObject({
  /** The default language, whose texts are used if a translation is missing. */
  default: Language,
  others: z.array(Language).max(19).default([]),
})
export type Languages = z.output<typeof Languages>

/** A text by language. */
export type Translations = Record<string, string> & z.$brand<'translations'>

/** Returns the schema of a record with a value per language. */
export function byLanguage<One extends z.ZodType>(one: One) {
  return withoutProto(z.record(Language, one)).brand<'translations'>()
}

/** Returns the schema of a text that is the same in each language, or one per language. */
export function translatable(one: z.ZodString) {
  return z.union([one, byLanguage(one)], {
    error: ({ input }) => {
      const unknown = typeof input === 'object' && input !== null ? Object.keys(input).find(isNoLanguage) : undefined
      return unknown === undefined
        ? 'Must be a text, or one for each language such as { "pt": …, "en": … }'
        : `${JSON.stringify(unknown)} is not a language such as pt, pt-BR or zh-Hans`
    },
  })
}

function isNoLanguage(key: string): boolean {
  return !Language.safeParse(key).success
}

/** A part of a definition, reduced to one language: each text and image has a single value. */
export type InOneLanguage<T> =
  T extends z.$brand<'translations'>
    ? never
    : T extends readonly (infer Item)[]
      ? InOneLanguage<Item>[]
      : T extends object
        ? { [Key in keyof T]: InOneLanguage<T[Key]> }
        : T
