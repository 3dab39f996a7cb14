const night = matchMedia('(prefers-color-scheme: dark)')
const paint = () => document.documentElement.classList.toggle('dark-mode', night.matches)
night.addEventListener('change', paint)
paint()
// Loads nothing from other hosts: without `validatorUrl: null`, Swagger UI would send the description to a validation service.
// A typed token is kept as long as the page.
addEventListener('load', () => {
  SwaggerUIBundle({
    url: '../openapi.json',
    domNode: document.getElementById('reference'),
    validatorUrl: null,
    queryConfigEnabled: false,
    persistAuthorization: false,
    deepLinking: true,
    filter: true,
    docExpansion: 'list',
    displayRequestDuration: true,
    requestSnippetsEnabled: true,
    defaultModelsExpandDepth: 0,
  })
})
