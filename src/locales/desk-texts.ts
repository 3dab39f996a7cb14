import type en from './en/desk.json'
import type { SpokenLanguage } from './languages.ts'

/** The texts of the desk, in one language. */
export type DeskWords = typeof en

/** Loads the texts of a language, each from a separate file. A missing language or text is a type error. */
export const deskTexts: Record<SpokenLanguage, () => Promise<DeskWords>> = {
  en: async () => (await import('./en/desk.json', { with: { type: 'json' } })).default,
  de: async () => (await import('./de/desk.json', { with: { type: 'json' } })).default,
  fr: async () => (await import('./fr/desk.json', { with: { type: 'json' } })).default,
  es: async () => (await import('./es/desk.json', { with: { type: 'json' } })).default,
  pt: async () => (await import('./pt/desk.json', { with: { type: 'json' } })).default,
  it: async () => (await import('./it/desk.json', { with: { type: 'json' } })).default,
  nl: async () => (await import('./nl/desk.json', { with: { type: 'json' } })).default,
  pl: async () => (await import('./pl/desk.json', { with: { type: 'json' } })).default,
  tr: async () => (await import('./tr/desk.json', { with: { type: 'json' } })).default,
  uk: async () => (await import('./uk/desk.json', { with: { type: 'json' } })).default,
  ar: async () => (await import('./ar/desk.json', { with: { type: 'json' } })).default,
  he: async () => (await import('./he/desk.json', { with: { type: 'json' } })).default,
  ja: async () => (await import('./ja/desk.json', { with: { type: 'json' } })).default,
  ko: async () => (await import('./ko/desk.json', { with: { type: 'json' } })).default,
  zh: async () => (await import('./zh/desk.json', { with: { type: 'json' } })).default,
}
