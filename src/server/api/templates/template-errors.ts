import { ApiError } from '../../../core/errors.ts'

export function missingTemplate(templateId: string): never {
  throw new ApiError('TEMPLATE_NOT_FOUND', { message: 'Template not found.', details: { templateId } })
}

export function noPublishedVersion(templateId: string): ApiError {
  const message = 'Template not found, or it has no published version.'
  return new ApiError('TEMPLATE_NOT_FOUND', { message, details: { templateId } })
}
