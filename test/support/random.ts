import fc from 'fast-check'

// Without this setting, fast-check limits lists and texts to about 10 elements, regardless of `maxLength`.
fc.configureGlobal({ defaultSizeToMaxWhenMaxSpecified: true })
