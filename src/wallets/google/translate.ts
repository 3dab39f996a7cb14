import { isJsonObject } from '../../core/json.ts'
import type { Card } from '../../core/rules/display/card.ts'
import { localizedKeyOf, type RecordType, recordTypeOf } from './fields.ts'

interface Translated {
  language: string
  resource: Record<string, unknown>
}

/** Adds translations to each text for which Google has a localized form, such as `localizedBody` for `body`. */
export function buildTranslated<Resource extends object>(
  card: Card,
  translations: readonly Card[],
  { type, build }: { type: RecordType | undefined; build: (card: Card) => Resource },
): Resource {
  const { language } = card
  const resource = build(card)
  if (language === undefined) return resource
  const others = translations.map((other) => ({
    language: other.language!,
    resource: build(other) as Record<string, unknown>,
  }))
  return translate(resource as Record<string, unknown>, { language, others, type }) as Resource
}

interface Languages {
  language: string
  others: Translated[]
  type: RecordType | undefined
}

function translate(value: Record<string, unknown>, languages: Languages): Record<string, unknown> {
  const { language, others, type } = languages
  if (isJsonObject(value.defaultValue)) {
    const texts = others.map((other) => [other.language, textOf(other.resource)] as const)
    return localizedIn(language, String(value.defaultValue.value), texts)
  }
  const translated = new Map(Object.entries(value))
  for (const [key, inner] of Object.entries(value)) {
    const localizedKey = localizedKeyOf(key)
    if (isJsonObject(inner) || Array.isArray(inner)) translated.set(key, translateInner(inner, key, languages))
    else if (typeof inner === 'string' && type?.fields.has(localizedKey)) {
      const texts = others.map((other) => [other.language, other.resource[key]] as const)
      if (texts.some(([, text]) => text !== undefined && text !== inner)) {
        translated.set(localizedKey, localizedIn(language, inner, texts))
      }
    }
  }
  return Object.fromEntries(translated)
}

function translateInner(inner: unknown, key: string, { language, others, type }: Languages): unknown {
  const innerType = recordTypeOf(type?.fields.get(key))
  const within = (find: (value: unknown) => unknown): Translated[] =>
    others.map((other) => {
      const found = find(other.resource[key])
      return { language: other.language, resource: isJsonObject(found) ? found : {} }
    })
  if (isJsonObject(inner)) return translate(inner, { language, others: within((value) => value), type: innerType })
  return (inner as unknown[]).map((item, index) => {
    if (!isJsonObject(item)) return item
    const counterpart = (list: unknown) => {
      if (!Array.isArray(list)) return undefined
      return item.id === undefined ? list[index] : list.find((other) => isJsonObject(other) && other.id === item.id)
    }
    return translate(item, { language, others: within(counterpart), type: innerType })
  })
}

function textOf({ defaultValue }: Record<string, unknown>): unknown {
  return isJsonObject(defaultValue) ? defaultValue.value : undefined
}

function localizedIn(language: string, value: string, texts: (readonly [string, unknown])[]) {
  const translatedValues = texts.flatMap(([other, text]) =>
    typeof text === 'string' && text.trim() !== '' && text !== value ? [{ language: other, value: text }] : [],
  )
  return { defaultValue: { language, value }, ...(translatedValues.length > 0 && { translatedValues }) }
}
