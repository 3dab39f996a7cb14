/** The languages of pages, doors, and the desk, without a region. Each has a folder of texts. */
export const spokenLanguages = [
  'en',
  'de',
  'fr',
  'es',
  'pt',
  'it',
  'nl',
  'pl',
  'tr',
  'uk',
  'ar',
  'he',
  'ja',
  'ko',
  'zh',
] as const

export type SpokenLanguage = (typeof spokenLanguages)[number]
