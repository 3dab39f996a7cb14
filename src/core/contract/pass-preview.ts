import { z } from 'zod'
import { PreviewLanguage } from './languages.ts'
import { Platform } from './platform.ts'

/** For which platform a preview of a pass is, in which form and language. */
export const PassPreviewQuery = z
  .strictObject({
    platform: Platform.optional(),
    format: z.enum(['json', 'html', 'pkpass']).default('json'),
    language: PreviewLanguage.optional(),
  })
  .superRefine(({ platform, format, language }, context) => {
    if (format !== 'pkpass') return
    if (platform !== 'apple') {
      context.addIssue({ code: 'custom', path: ['format'], message: 'pkpass needs platform=apple' })
    }
    if (language !== undefined) {
      const message = 'A pkpass holds every language: leave it out'
      context.addIssue({ code: 'custom', path: ['language'], message })
    }
  })

/** What each configured platform would be given; null for one that is not configured or not asked for. */
export const PassPreview = z.strictObject({
  apple: z.looseObject({}).nullable(),
  google: z.strictObject({ class: z.looseObject({}), object: z.looseObject({}) }).nullable(),
})
