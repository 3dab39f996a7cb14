import { z } from 'zod'
import { PreviewLanguage } from './language-tags.ts'
import { Platform } from './platform.ts'

/** The query of a pass preview: platform, format, and language. */
export const PassPreviewQuery = z
  .strictObject({
    platform: Platform.optional(),
    format: z.enum(['json', 'html', 'pkpass']).default('json'),
    language: PreviewLanguage.optional(),
  })
  .superRefine(({ platform, format, language }, context) => {
    if (format !== 'pkpass') return
    if (platform !== 'apple') {
      context.addIssue({ code: 'custom', path: ['format'], message: 'pkpass requires platform=apple' })
    }
    if (language !== undefined) {
      const message = 'A pkpass contains every language: omit it'
      context.addIssue({ code: 'custom', path: ['language'], message })
    }
  })

/** The content for each platform. `null` for a platform that is not configured or not requested. */
export const PassPreview = z.strictObject({
  apple: z.looseObject({}).nullable(),
  google: z.strictObject({ class: z.looseObject({}), object: z.looseObject({}) }).nullable(),
})
